// What commands say of deliveries, releases, and what differs between two of them. Pure.
import type { Delivery, Diff, ListedRelease } from "./answers.ts";
import { plainText } from "./plain-text.ts";
import { tableLines, timeText } from "./table.ts";

const COMMIT_LENGTH = 7; // As git shortens them.
const NONE = "-";

export function deliveryLines(deliveries: readonly Delivery[]): string[] {
  if (deliveries.length === 0) return ["no deliveries; make one with: orchestrator deploy"];
  return tableLines(
    ["number", "delivery", "state", "created (UTC)", "by", "from", "release", "message"],
    deliveries.map((one) => [
      String(one.number),
      plainText(one.deliveryId),
      one.state,
      timeText(one.createdEpochMs, NONE),
      plainText(one.by),
      sourceText(one),
      plainText(one.releaseId ?? NONE),
      firstLine(one.source.message),
    ]),
  );
}

function sourceText({ source: { kind, commit, ref } }: Delivery): string {
  const words = [kind, commit === null ? "" : shortCommit(commit), ref === null ? "" : plainText(ref)];
  return words.filter((word) => word !== "").join(" ");
}

const shortCommit = (commit: string): string => plainText(commit).slice(0, COMMIT_LENGTH);

const firstLine = (message: string | null): string => (message === null ? "" : plainText(message.split("\n", 1)[0] ?? ""));

export function deliveryText(delivery: Delivery): string {
  const { deliveryId, app, number, state, detail } = delivery;
  const why = detail === null ? "" : `: ${plainText(detail)}`;
  return `delivery ${number} of ${plainText(app)} (${plainText(deliveryId)}, ${sourceText(delivery)}) is ${state}${why}`;
}

export function releaseLines(releases: readonly ListedRelease[]): string[] {
  if (releases.length === 0) return ["no releases; the first one comes with: orchestrator deploy"];
  return tableLines(
    ["release", "created (UTC)", "by", "commit", "outcome", "live on", "functions", "message"],
    releases.map((one) => [
      plainText(one.releaseId),
      timeText(one.createdEpochMs, NONE),
      plainText(one.by),
      one.commit === null ? NONE : shortCommit(one.commit),
      one.outcome,
      one.live.length === 0 ? NONE : one.live.join(", "),
      String(one.functionCount),
      firstLine(one.message),
    ]),
  );
}

const SIGNS: Readonly<Record<Diff["functions"][number]["change"], string>> = { added: "+", removed: "-", rebuilt: "~", settings: "~" };
const WORDS: Readonly<Record<Diff["functions"][number]["change"], string>> = {
  added: "added",
  removed: "removed",
  rebuilt: "other code",
  settings: "other settings",
};

export function diffLines({ from, to, functions, site, proxies }: Diff): string[] {
  const head = `from ${plainText(from)} to ${plainText(to)}`;
  const width = Math.max(0, ...functions.map(({ route }) => plainText(route).length));
  const changes = [
    ...functions.flatMap(({ name, route, change, settings }) => [
      `  ${SIGNS[change]} ${plainText(route).padEnd(width)}  ${WORDS[change]}  ${plainText(name)}`,
      ...settings.map((one) => `      ${plainText(one.name)}: ${valueText(one.from)} → ${valueText(one.to)}`),
    ]),
    ...(site === "same" ? [] : [`  ${site === "changed" ? "~" : SIGNS[site]} static files ${site}`]),
    ...proxies.map((one) => `  ~ proxy of ${one.environment}: ${plainText(one.from ?? "none")} → ${plainText(one.to ?? "none")}`),
  ];
  return changes.length === 0 ? [`${head}: nothing differs`] : [head, ...changes];
}

const valueText = (value: string): string => (value === "" ? '""' : plainText(value));
