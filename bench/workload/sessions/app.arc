@app
bench-sessions

@http
get /plain
get /session
post /session
