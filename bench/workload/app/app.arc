@app
bench

@http
get /
post /echo
get /text/:size
