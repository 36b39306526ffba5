@app
proxy

@http
get /prices

@proxy
staging http://127.0.0.1:3335
production http://127.0.0.1:3335
