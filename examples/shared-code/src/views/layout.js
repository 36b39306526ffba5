// The frame of every page.
module.exports = ({ title, body }) => `<!doctype html>\n<title>${title}</title>\n<h1>${title}</h1>\n${body}\n`;
