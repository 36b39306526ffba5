@app
hello

@http
get /
