// The labels of everything that we make in a Docker engine.

export const LABELS = {
  platform: "orchestrator.platform",
  home: "orchestrator.home",
  role: "orchestrator.role",
  app: "orchestrator.app",
  environment: "orchestrator.environment",
  function: "orchestrator.function",
  build: "orchestrator.build",
  config: "orchestrator.config",
  instance: "orchestrator.instance",
  bytes: "orchestrator.bytes", // Of a build's own files, beside what it stands on.
  created: "orchestrator.created", // Epoch ms; Docker's own lists know it to the second only.
} as const;
