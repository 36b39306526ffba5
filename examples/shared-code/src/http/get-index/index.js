// GET /: the list of prices as a page.
const { PRICES } = require("@architect/shared/prices");
const layout = require("@architect/views/layout");

exports.handler = async () => ({
  statusCode: 200,
  headers: { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" },
  body: layout({
    title: "Prices",
    body: `<ul>${Object.entries(PRICES)
      .map(([item, price]) => `<li>${item}: ${price}</li>`)
      .join("")}</ul>`,
  }),
});
