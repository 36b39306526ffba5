// What the management API answers of one delivery of one app: number 7 of shop.

export const LOG = "GET /api/deliveries/shop-7/log";
export const CANCEL = "POST /api/deliveries/shop-7/cancel";
export const BEGUN = { "POST /api/deliveries": { json: { deliveryId: "shop-7" } } };
export const VERIFIED = [
  { kind: "step", step: "verify", state: "running", durationMs: null },
  { kind: "step", step: "verify", state: "done", durationMs: 212 },
  { kind: "step", step: "test", state: "running", durationMs: null },
  { kind: "line", step: "test", text: "1 of 2 tests\u001b[2J\u0007 failed" },
];
export const endOf = (state: string, more: object = {}): object => ({
  kind: "end",
  state,
  releaseId: null,
  detail: null,
  problems: [],
  remedy: null,
  ...more,
});
export const GREEN = endOf("green", { releaseId: "5d41402abc4b2a76" });
export const RED = endOf("red", {
  detail: "The step test ended with 1.",
  problems: ["test/submit.js: expected 201, got 500"],
  remedy: "Run npm test in the app's folder.",
});
export const DELIVERY = {
  deliveryId: "shop-7",
  app: "shop",
  number: 7,
  source: {
    kind: "git",
    commit: "0123456789abcdef0123456789abcdef01234567",
    ref: "refs/heads/main",
    message: "Sell\u001b[31m shoes\n\nAnd hats.",
  },
  by: "ci",
  createdEpochMs: Date.UTC(2026, 0, 2, 3, 4, 5),
  state: "red",
  steps: [],
  releaseId: null,
  detail: "The step test ended with 1.",
};
