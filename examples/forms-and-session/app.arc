@app
forms-and-session

@http
get /
post /login
post /logout
get /whoami
