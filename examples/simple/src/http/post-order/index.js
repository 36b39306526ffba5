// POST /order: the form arrives as an object.
exports.handler = async ({ body, method }) => {
  if (!body.item) return { status: 400, type: "text/plain", body: `This ${method} names no item.\n` };
  return { status: 302, location: "/", cookie: `ordered=${encodeURIComponent(body.item)}; Path=/; HttpOnly; SameSite=Lax` };
};
