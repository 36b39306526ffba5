// What a visitor sees of an error.
module.exports = (error) => `<!doctype html><title>Sorry</title><h1>${error.message.replace(/</g, "&lt;")}</h1>\n`;
