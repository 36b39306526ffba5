@app
notes

@http
get /notes
post /notes
