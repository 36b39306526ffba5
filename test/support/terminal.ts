// A terminal's screen, as far as programs that redraw lines in place use one: to see what is left on it.
import type { Screen } from "../../orchestrator/log.ts";

export interface Terminal extends Screen {
  /** Everything on it and above it, without what is blank at the ends. */
  rows(): string[];
  readonly notices: readonly string[];
  /** Everything that was written to it. */
  written(): string;
  resize(columnCount: number): void;
}

export function createTerminal(size: { readonly columnCount: number; readonly rowCount: number; readonly isColored?: boolean }): Terminal {
  let columnCount = size.columnCount;
  let rows: string[][] = [[]];
  let [row, column] = [0, 0];
  let isFolding = true;
  let text = "";
  const notices: string[] = [];
  const top = (): number => Math.max(0, rows.length - size.rowCount);
  const newLine = (): void => {
    row += 1;
    column = 0;
    while (rows.length <= row) rows.push([]);
  };
  const put = (character: string): void => {
    if (column >= columnCount) {
      if (isFolding) newLine();
      else column = columnCount - 1;
    }
    const cells = rows[row] ?? [];
    while (cells.length < column) cells.push(" ");
    cells[column] = character;
    column += 1;
  };
  const act = (sequence: string): void => {
    const up = /^\[(\d+)A$/.exec(sequence);
    if (up !== null) row = Math.max(top(), row - Number(up[1]));
    else if (sequence === "[K") rows[row]?.splice(Math.min(column, columnCount - 1));
    else if (sequence === "[J") {
      rows[row]?.splice(Math.min(column, columnCount - 1));
      rows.splice(row + 1);
    } else if (sequence === "[?7l" || sequence === "[?7h") isFolding = sequence.endsWith("h");
    else if (!/^\[\d+m$/.test(sequence)) throw new Error(`this terminal does not know ESC ${sequence}`);
  };
  return {
    isTerminal: true,
    isColored: size.isColored ?? false,
    columnCount: () => columnCount,
    rowCount: () => size.rowCount,
    notices,
    written: () => text,
    notice: (line) => void notices.push(line),
    rows: () => rows.map((cells) => cells.join("").trimEnd()).filter((line, index, all) => line !== "" || index < all.length - 1),
    write(part) {
      text += part;
      for (const [piece = ""] of part.matchAll(/\u001b(\[[?\d]*[A-Za-z])|[^]/gu)) {
        if (piece.length > 1 && piece.startsWith("\u001b")) act(piece.slice(1));
        else if (piece === "\n") newLine();
        else if (piece === "\r") column = 0;
        else put(piece);
      }
    },
    /** As terminals do that fold what they show anew. */
    resize(columns) {
      columnCount = columns;
      const below = rows.length - row;
      rows = rows.flatMap((cells) => {
        const folded = Array.from({ length: Math.max(1, Math.ceil(cells.length / columns)) }, (_, index) =>
          cells.slice(index * columns, (index + 1) * columns),
        );
        return folded;
      });
      row = rows.length - below;
    },
  };
}
