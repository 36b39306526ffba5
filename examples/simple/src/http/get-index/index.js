// GET /: a form, and what was ordered last.
exports.handler = async (request) => ({
  type: "text/html; charset=utf-8",
  body: `<!doctype html>
<title>Shop</title>
<form method="post" action="/order"><input name="item" required><button>Order</button></form>
<p>${ordered(request.headers.cookie)}</p>
`,
});

function ordered(cookies = "") {
  const cookie = cookies.split("; ").find((one) => one.startsWith("ordered="));
  return cookie === undefined ? "Nothing was ordered yet." : `Ordered: ${decodeURIComponent(cookie.slice(8)).replace(/[<&]/g, "")}`;
}
