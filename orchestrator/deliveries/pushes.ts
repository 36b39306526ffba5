// What a git push means: the default branch is delivered to staging while it is pushed, a version tag promotes, everything else is stored.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { PushReceiver, PushVerdict, ReceivedPush } from "../git/git-door.ts";
import type { HostedApp } from "../hosting/hosted-app.ts";
import type { Hosting } from "../hosting/hosting.ts";
import type { Deliveries } from "./deliveries.ts";
import type { Delivery, LogEvent } from "./delivery.ts";

export interface PushParts {
  readonly hosting: Pick<Hosting, "byId">;
  readonly deliveries: Deliveries;
  readonly addressOf: (app: HostedApp, environment: Environment) => string;
  /** Tells the audit log, before anything is done, and how it ended. */
  readonly audited: <Value>(
    what: { readonly by: string; readonly app: string; readonly refs: readonly string[] },
    work: () => Promise<Value>,
  ) => Promise<Value>;
}

const VERSION_TAG = /^refs\/tags\/v\d/;

export function createPushReceiver(parts: PushParts): PushReceiver {
  return {
    async received(push) {
      const app = parts.hosting.byId(push.appId);
      if (app === null || app.known().isLeaving) return { kind: "rejected", reason: "the app is being removed" };
      try {
        const refs = push.updates.map(({ ref }) => ref);
        return await parts.audited({ by: push.by, app: app.name, refs }, async () => receive(push, app, parts));
      } catch (cause) {
        if (!(cause instanceof PlatformError)) throw cause;
        const { problems = [], remedy } = cause.detail;
        for (const text of [`${cause.code}: ${cause.message}`, ...problems, ...(remedy === undefined ? [] : [remedy])]) push.print(text);
        return { kind: "rejected", reason: cause.code };
      }
    },
  };
}

type Update = ReceivedPush["updates"][number];

async function receive(push: ReceivedPush, app: HostedApp, parts: PushParts): Promise<PushVerdict> {
  const branch = `refs/heads/${push.defaultBranch}`;
  for (const update of push.updates) {
    if (update.ref === branch && update.newCommit === null)
      return { kind: "rejected", reason: `${push.defaultBranch} is the branch that is delivered: it cannot be deleted` };
    if (update.ref.startsWith("refs/heads/") && update.ref !== branch)
      push.print(`${update.ref.slice("refs/heads/".length)} is stored; only ${push.defaultBranch} is delivered.`);
  }
  const pushed = push.updates.find(({ ref }) => ref === branch);
  if (pushed !== undefined && pushed.newCommit !== null) {
    const delivery = await deliver(push, pushed.newCommit, { app, ref: branch, parts });
    if (delivery.state !== "green" && delivery.state !== "superseded")
      return { kind: "rejected", reason: `delivery ${delivery.deliveryId} is ${delivery.state}` };
  }
  for (const tag of push.updates) if (VERSION_TAG.test(tag.ref) && tag.newCommit !== null) await promote(push, tag, { app, parts });
  return { kind: "accepted" };
}

async function deliver(
  push: ReceivedPush,
  commit: string,
  { app, ref, parts }: { readonly app: HostedApp; readonly ref: string; readonly parts: PushParts },
): Promise<Delivery> {
  const { subject } = await push.describe(commit);
  const { delivery, over, follow } = await parts.deliveries.begin({
    app,
    source: { kind: "git", commit, ref, message: subject },
    by: push.by,
    checkOut: async (options) => push.checkOut(commit, options),
  });
  push.print(`delivery ${delivery.deliveryId}: ${subject}`);
  // What nobody waits for would be live with a commit that the repository never got.
  const giveUp = (): void => void parts.deliveries.cancel(delivery.deliveryId).catch(() => undefined); // Over already is just as well.
  push.signal.addEventListener("abort", giveUp, { once: true });
  const stop = follow((event) => {
    for (const line of linesOf(event)) push.print(line);
  });
  const ended = await over;
  stop();
  push.signal.removeEventListener("abort", giveUp);
  if (ended.state === "green") push.print(`staging runs release ${ended.releaseId ?? ""}: ${parts.addressOf(app, "staging")}`);
  return ended;
}

/** Pure, for people in front of a terminal. */
export function linesOf(event: LogEvent): string[] {
  switch (event.kind) {
    case "line":
      return [`   ${event.text}`];
    case "step":
      if (event.state === "running") return [`${event.step} …`];
      if (event.state === "skipped" || event.durationMs === null) return event.state === "failed" ? [`${event.step} failed`] : [];
      return [`${event.step} ok, ${(event.durationMs / 1_000).toFixed(1)} s`];
    case "end":
      return event.state === "green"
        ? []
        : [event.detail ?? `it is ${event.state}`, ...event.problems, event.remedy ?? ""].filter((text) => text !== "");
  }
}

/** Of a commit that is on staging or was: its release goes to production. */
async function promote(
  push: ReceivedPush,
  tag: Update,
  { app, parts }: { readonly app: HostedApp; readonly parts: PushParts },
): Promise<void> {
  const name = tag.ref.slice("refs/tags/".length);
  const commit = tag.peeledCommit ?? tag.newCommit ?? "";
  const green = (await parts.deliveries.list(app)).find((one) => one.source.commit === commit && one.state === "green");
  if (green === undefined || green.releaseId === null)
    throw new PlatformError("RELEASE_NOT_FOUND", {
      detail: `No delivery of ${commit.slice(0, 12)} is green, so that ${name} cannot be promoted.`,
      remedy: `Push the commit to ${push.defaultBranch} first; when it is on staging, push the tag.`,
    });
  await app.deployer.promote(green.releaseId);
  push.print(`${name}: production runs release ${green.releaseId}: ${parts.addressOf(app, "production")}`);
}
