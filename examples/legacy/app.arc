@app
legacy

# This line is what declares the generation; an app of that time has it already.
@aws
apigateway rest

@http
get /shop/:item
post /greet
