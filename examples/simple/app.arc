@app
simple

# An app that must not be touched can leave this out, and be started with "up --generation simple" instead.
@generation simple

@http
get /
post /order
get /api/shop/:item
