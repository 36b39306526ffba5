// What things cost, for every function.
const PRICES = { tea: 3, salt: 1 };

exports.PRICES = PRICES;
exports.total = (items) => items.reduce((sum, item) => sum + (PRICES[item] ?? 0), 0);
