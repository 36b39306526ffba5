@app
static-site

@static
