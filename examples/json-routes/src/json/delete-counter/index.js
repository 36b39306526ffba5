// DELETE /counter: forgets the visitor, and goes back.
const { json } = require("@orchestrator/functions");

exports.handler = json.delete((req, res) => res({ session: {}, location: "/counter" }));
