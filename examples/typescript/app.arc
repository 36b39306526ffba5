@app
typescript

@http
get /greet/:name
