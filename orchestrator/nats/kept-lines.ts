// Connections by name: opened when one is needed, kept while somebody uses it, and beyond that only a few, those that were used last.
import { PlatformError } from "../../runtime-image/contract/errors.ts";

export interface KeptLines<Line> {
  /** It stays open at least until it is let go of. Whoever asks for the same name meanwhile gets the same one. */
  hold(wanted: WantedLine<Line>): Promise<HeldLine<Line>>;
  /** For as long as the work takes. */
  use<Value>(wanted: WantedLine<Line>, work: (line: Line) => Promise<Value>): Promise<Value>;
  isOpen(name: string): boolean;
  /** Ends the line, where there is one, whoever uses it. */
  end(name: string): Promise<void>;
  /** Ends all of them, for good. */
  close(): Promise<void>;
}

export interface WantedLine<Line> {
  readonly name: string;
  readonly open: () => Promise<Line>;
}

export interface HeldLine<Line> {
  readonly line: Line;
  letGo(this: void): void;
}

interface Kept<Line> {
  readonly line: Promise<Line>;
  userCount: number;
}

export function createKeptLines<Line extends { close(): Promise<void> }>({
  idleCountMax,
}: {
  readonly idleCountMax: number;
}): KeptLines<Line> {
  const lines = new Map<string, Kept<Line>>();
  const idle = new Set<string>(); // In the order in which they were let go of.
  const endings = new Set<Promise<void>>();
  let isClosed = false;

  const keptLine = ({ name, open }: WantedLine<Line>): Kept<Line> => {
    const known = lines.get(name);
    if (known !== undefined) return known;
    if (isClosed) throw new PlatformError("BROKER_UNAVAILABLE", { detail: "The platform is being stopped." });
    const kept: Kept<Line> = { line: open(), userCount: 0 };
    lines.set(name, kept);
    // The next caller tries anew; this one is told by the same promise.
    kept.line.catch(() => {
      if (lines.get(name) === kept) lines.delete(name);
    });
    return kept;
  };
  const end = async (name: string): Promise<void> => {
    const kept = lines.get(name);
    lines.delete(name);
    idle.delete(name);
    const line = await kept?.line.catch(() => null); // One that never opened needs no closing.
    await line?.close();
  };
  const endSoon = (name: string): void => {
    const ending = end(name)
      .catch(() => undefined) // The broker notices by itself that nobody is there any more.
      .finally(() => endings.delete(ending));
    endings.add(ending);
  };
  const rest = (name: string): void => {
    idle.add(name);
    const [oldest] = idle;
    if (idle.size > idleCountMax && oldest !== undefined) endSoon(oldest);
  };
  const hold = async (wanted: WantedLine<Line>): Promise<HeldLine<Line>> => {
    const { name } = wanted;
    const kept = keptLine(wanted);
    kept.userCount += 1;
    idle.delete(name);
    const line = await kept.line;
    let isHeld = true;
    return {
      line,
      letGo() {
        if (!isHeld) return;
        isHeld = false;
        kept.userCount -= 1;
        if (kept.userCount === 0 && lines.get(name) === kept) rest(name);
      },
    };
  };
  return {
    hold,
    async use(wanted, work) {
      const { line, letGo } = await hold(wanted);
      try {
        return await work(line);
      } finally {
        letGo();
      }
    },
    isOpen: (name) => lines.has(name),
    end,
    async close() {
      isClosed = true;
      await Promise.all([...[...lines.keys()].map(end), ...endings]);
    },
  };
}
