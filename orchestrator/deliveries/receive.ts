// Takes in what is to be delivered but not pushed: a folder that is sent, a route that is added or removed. Each becomes a commit of the app's repository.
import { mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { AppGeneration } from "../apps/manifest.ts";
import { type RouteEdit, type RouteKind, addRoute, applyRouteEdit, removeRoute } from "../apps/route-edit.ts";
import { starterFiles } from "../apps/starter.ts";
import type { Repositories } from "../git/repositories.ts";
import type { HostedApp } from "../hosting/hosted-app.ts";
import { unpackArchive } from "../sources/unpack.ts";
import { type Turn, createTurn } from "../turn.ts";
import type { BegunDelivery, Deliveries } from "./deliveries.ts";

export interface Receiver {
  /** A tar, compressed or not. */
  upload(
    archive: Readable,
    about: { readonly app: HostedApp; readonly by: string; readonly message: string | null; readonly signal: AbortSignal },
  ): Promise<BegunDelivery>;
  changeRoute(order: RouteOrder): Promise<RouteChange>;
}

export interface RouteOrder {
  readonly app: HostedApp;
  readonly action: "add" | "remove";
  readonly route: string;
  readonly kind: RouteKind;
  readonly by: string;
  readonly signal: AbortSignal;
}

export interface RouteChange {
  readonly files: readonly string[]; // Written or removed, in the app's folder.
  readonly begun: BegunDelivery | null; // Null for the app of a folder: whoever watches that takes it from there.
}

export interface ReceiverParts {
  readonly folder: string; // Absolute, in the home: what is taken in lies there for a while.
  readonly repositories: Pick<Repositories, "ensure" | "head" | "checkOut" | "commitFolder">;
  readonly deliveries: Pick<Deliveries, "begin">;
  /** Of the app that the platform was started for. */
  readonly appFolder: string | null;
  /** What it was told there that its functions speak, whatever its manifest says. */
  readonly toldGeneration: () => Promise<AppGeneration | null>;
}

const UPLOADED = "Deploy of a folder";

export function createReceiver({ folder, repositories, deliveries, appFolder, toldGeneration }: ReceiverParts): Receiver {
  const turns = new Map<string, Turn>(); // Commits of one app follow each other.
  const inTurn = async <Value>(app: HostedApp, work: () => Promise<Value>): Promise<Value> => {
    const turn = turns.get(app.appId) ?? createTurn();
    turns.set(app.appId, turn);
    return turn(work);
  };
  /** Works in a folder of its own, which is gone afterwards. */
  const withFolder = async <Value>(work: (own: string) => Promise<Value>): Promise<Value> => {
    const own = await mkdtemp(join(folder, "receiving-"));
    try {
      return await work(own);
    } finally {
      await rm(own, { recursive: true, force: true });
    }
  };
  const fromRepository = (app: HostedApp, commit: string) => async (options: { into: string; signal: AbortSignal }) =>
    repositories.checkOut(app.appId, commit, options);

  return {
    async upload(archive, { app, by, message, signal }) {
      assertRepository(app, "deployed to");
      const unpacked = await mkdtemp(join(folder, "receiving-"));
      const source = join(unpacked, "source");
      try {
        await unpackArchive(archive, { into: source, signal });
        const { commit } = await inTurn(app, async () => {
          await repositories.ensure(app.appId);
          return repositories.commitFolder(app.appId, source, { message: message ?? UPLOADED, by });
        });
        const begun = await deliveries.begin({
          app,
          source: { kind: "upload", commit, ref: null, message: message ?? UPLOADED },
          by,
          // It lies here already; only after the death of an orchestrator it has to come from the repository.
          checkOut: async (options) => rename(source, options.into),
        });
        void begun.over.then(async () => rm(unpacked, { recursive: true, force: true })).catch(() => undefined); // The next start removes what is left.
        return begun;
      } catch (cause) {
        await rm(unpacked, { recursive: true, force: true });
        throw cause;
      }
    },

    async changeRoute({ app, action, route, kind, by, signal }) {
      const editOf = async (place: string, generation: AppGeneration | null): Promise<RouteEdit> =>
        action === "add" ? addRoute(place, { route, kind, generation }) : removeRoute(place, { route });
      if (app.known().source === "folder") {
        if (appFolder === null) throw new PlatformError("APP_UNKNOWN", { detail: "The folder of this app is not served now." });
        const edit = await editOf(appFolder, await toldGeneration());
        await applyRouteEdit(appFolder, edit);
        return { files: filesOf(edit), begun: null };
      }
      return inTurn(app, async () =>
        withFolder(async (own) => {
          await repositories.ensure(app.appId);
          const place = join(own, "source");
          const head = await repositories.head(app.appId);
          if (head === null) await applyRouteEdit(place, { writes: starterWrites(app.name), removals: [], message: "" });
          else await repositories.checkOut(app.appId, head.commit, { into: place, signal });
          const edit = await editOf(place, null);
          await applyRouteEdit(place, edit);
          const { commit } = await repositories.commitFolder(app.appId, place, {
            message: edit.message,
            by,
            onTopOf: head?.commit ?? null,
          });
          const begun = await deliveries.begin({
            app,
            source: { kind: "route", commit, ref: null, message: edit.message },
            by,
            checkOut: fromRepository(app, commit),
          });
          return { files: filesOf(edit), begun };
        }),
      );
    },
  };
}

const filesOf = ({ writes, removals }: RouteEdit): string[] => [...writes.map(({ path }) => path), ...removals];

const starterWrites = (appName: string): RouteEdit["writes"] => starterFiles(appName).map(([path, text]) => ({ path, text }));

function assertRepository(app: HostedApp, verb: string): void {
  if (app.known().source === "repository") return;
  throw new PlatformError("APP_KEPT", {
    detail: `${app.name} is served from its folder on the platform's machine, and cannot be ${verb}.`,
    remedy: "Make an app of its own for what you send: orchestrator app create <name>; then: orchestrator deploy --app <name>.",
  });
}
