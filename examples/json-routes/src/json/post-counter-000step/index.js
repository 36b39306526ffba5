// POST /counter/:step: sets the counter, in two steps.
const { json } = require("@orchestrator/functions");

function check(req, res, next) {
  if (Number.isInteger(req.body.visits)) return next();
  const error = new Error("visits should be a whole number");
  error.status = 400;
  res(error);
}

function store(req, res) {
  const visits = req.body.visits * Number(req.params.step);
  res({ session: { visits }, json: JSON.stringify({ visits }) });
}

exports.handler = json.post(check, store);
