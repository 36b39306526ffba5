// Clients that write all the time, each in places of its own, and tell the model what became of every write.
import { COUNTERS, COUNTER_TABLE, DOCUMENT_PATHS, SESSION_PATH, TABLES, fillerOf } from "./crash-app.ts";
import { callApp, documentPlace, type Call, type Outcome } from "./crash-calls.ts";
import type { Change, CrashModel } from "./crash-model.ts";
import type { Chance } from "./crash-random.ts";
import { until } from "./until.ts";

export interface Traffic {
  resume(): void;
  /** Resolves when no write is on its way any more. */
  pause(): Promise<void>;
  readonly acknowledgedCount: number;
  /** How many writes failed, by reason. */
  readonly failures: ReadonlyMap<string, number>;
  /** By place, for every session whose cookie was received. */
  readonly cookies: ReadonlyMap<string, string>;
}

export interface TrafficParts {
  readonly port: () => number;
  readonly model: CrashModel;
  readonly chance: Chance;
  readonly clientCount: number;
}

const PLACES_PER_CLIENT = 40; // Of those that a client still writes to; the ones it has left are only read.
const SESSIONS_PER_CLIENT = 4;
const BATCH_COUNT_MAX = 5;
const RECOVERY_TIMEOUT_MS = 120_000;

export function createTraffic(parts: TrafficParts): Traffic {
  const shared: Shared = { ...parts, failures: new Map(), cookies: new Map(), acknowledgedCount: 0, isPaused: true };
  const clients = Array.from({ length: parts.clientCount }, (_, index) => new Client(shared, index));
  let running: Promise<unknown> = Promise.resolve();
  return {
    resume: () => {
      shared.isPaused = false;
      running = Promise.all(clients.map((client) => client.run()));
      running.catch(() => undefined); // Whoever pauses hears of it.
    },
    pause: async () => {
      shared.isPaused = true;
      await running;
    },
    get acknowledgedCount() {
      return shared.acknowledgedCount;
    },
    failures: shared.failures,
    cookies: shared.cookies,
  };
}

interface Shared extends TrafficParts {
  readonly failures: Map<string, number>;
  readonly cookies: Map<string, string>;
  acknowledgedCount: number;
  isPaused: boolean;
}

interface Document {
  readonly table: string;
  readonly key: string;
}

class Client {
  readonly #shared: Shared;
  readonly #index: number;
  #documents: Document[] = [];
  #sessions: string[] = [];
  #madeCount = 0;

  constructor(shared: Shared, index: number) {
    this.#shared = shared;
    this.#index = index;
  }

  async run(): Promise<void> {
    while (!this.#shared.isPaused) {
      const outcome = await this.#writeOnce();
      if (outcome.kind === "acknowledged") this.#shared.acknowledgedCount += 1;
      else await this.#untilAnswered(outcome);
    }
  }

  #writeOnce(): Promise<Outcome> {
    const dice = this.#shared.chance.below(100);
    if (dice < 45) return this.#set();
    if (dice < 60) return this.#destroy();
    return dice < 80 ? this.#increment() : this.#writeSession();
  }

  /** Between a failure and the next answer nothing is written: one open write in each outage and client is enough. */
  async #untilAnswered(outcome: Outcome): Promise<void> {
    const { failures, port } = this.#shared;
    const reason = outcome.kind === "uncertain" ? outcome.reason : outcome.kind;
    failures.set(reason, (failures.get(reason) ?? 0) + 1);
    const count: Call = { path: DOCUMENT_PATHS[0], body: { act: "count", table: COUNTER_TABLE } };
    await until(async () => this.#shared.isPaused || (await callApp(port(), count)).kind === "acknowledged", {
      timeoutMs: RECOVERY_TIMEOUT_MS,
      what: "the app answers again",
    });
  }

  async #set(): Promise<Outcome> {
    const documents = this.#someDocuments().map((document) => ({ document, value: this.#nextName() }));
    const changes = documents.map(({ document: { table, key }, value }) => ({ place: documentPlace(table, key), value }));
    const bodies = documents.map(({ document, value }) => ({ ...document, value, filler: fillerOf(value) }));
    return this.#change(changes, { path: this.#path(), body: { act: "set", documents: bodies } });
  }

  async #destroy(): Promise<Outcome> {
    const documents = this.#someDocuments();
    const changes = documents.map(({ table, key }) => ({ place: documentPlace(table, key), value: null }));
    return this.#change(changes, { path: this.#path(), body: { act: "destroy", documents } });
  }

  async #increment(): Promise<Outcome> {
    const { model, chance, port } = this.#shared;
    const key = chance.pick(COUNTERS);
    model.beginIncrement(key);
    const outcome = await callApp(port(), { path: this.#path(), body: { act: "increment", table: COUNTER_TABLE, key } });
    // What the app of this proof answers.
    if (outcome.kind === "acknowledged") model.acknowledgedIncrement(key, (outcome.result as { count: number }).count);
    if (outcome.kind === "unsent") model.unsentIncrement(key);
    return outcome;
  }

  async #writeSession(): Promise<Outcome> {
    const { model, chance, cookies } = this.#shared;
    this.#sessions = this.#sessions.filter((name) => cookies.has(name) && !model.isOpen(name));
    const isNew = this.#sessions.length < SESSIONS_PER_CLIENT;
    const place = isNew ? `session ${this.#nextName()}` : chance.pick(this.#sessions);
    if (isNew) this.#sessions.push(place);
    const cookie = cookies.get(place);
    const value = !isNew && chance.below(10) === 0 ? null : this.#nextName();
    const session = value === null ? {} : { value, filler: fillerOf(value) };
    const call: Call = { path: SESSION_PATH, body: { act: "write", session }, ...(cookie === undefined ? {} : { cookie }) };
    const outcome = await this.#change([{ place, value }], call);
    // The cookie of a cleared session is another's; the old one must find nothing from now on.
    if (outcome.kind === "acknowledged" && value !== null) cookies.set(place, String(outcome.result).split(";")[0] ?? "");
    if (value === null) this.#sessions = this.#sessions.filter((name) => name !== place);
    return outcome;
  }

  async #change(changes: readonly Change[], call: Call): Promise<Outcome> {
    const { model, port } = this.#shared;
    model.begin(changes);
    const outcome = await callApp(port(), call);
    if (outcome.kind === "acknowledged") model.acknowledged(changes);
    if (outcome.kind === "unsent") model.unsent(changes);
    return outcome;
  }

  /** One, or a batch of different ones; old ones and new ones. */
  #someDocuments(): Document[] {
    const { model, chance } = this.#shared;
    this.#documents = this.#documents.filter(({ table, key }) => !model.isOpen(documentPlace(table, key)));
    while (this.#documents.length < PLACES_PER_CLIENT)
      this.#documents.push({ table: chance.pick(TABLES), key: `${chance.below(1_000)}/${this.#nextName()}` });
    const count = chance.below(3) === 0 ? 1 + chance.below(BATCH_COUNT_MAX) : 1;
    return chance.shuffled(this.#documents).slice(0, count);
  }

  #path(): string {
    return this.#shared.chance.pick(DOCUMENT_PATHS);
  }

  #nextName(): string {
    this.#madeCount += 1;
    return `${this.#index}-${this.#madeCount}`;
  }
}
