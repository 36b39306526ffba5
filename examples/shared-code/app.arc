@app
shared-code

@http
get /
post /total
