// Text that someone else wrote, made fit for one line of a terminal: nothing in it acts on the terminal, and it is no wider than asked. Pure.
import { stripVTControlCharacters } from "node:util";

const TEXT_LENGTH_MAX = 4_000; // As long as a line of a delivery's log may be.
const TAB = "  ";
const BEYOND = "…";

/** Without escape sequences, control characters, and marks that change the direction of what follows. */
export function plainText(text: string): string {
  const visible = stripVTControlCharacters(text.slice(0, TEXT_LENGTH_MAX));
  // What a progress bar wrote over is gone.
  const last = visible.split(/[\r\n]/).findLast((part) => part.trim() !== "") ?? "";
  return last.replaceAll("\t", TAB).replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "");
}

/** At most so many columns; what is cut ends in "…". */
export function cutText(text: string, columnCount: number): string {
  if (columnsOf(text) <= columnCount) return text;
  let [cut, columns] = ["", 0];
  for (const character of text) {
    columns += columnsOfCharacter(character);
    if (columns > columnCount - BEYOND.length) break;
    cut += character;
  }
  return columnCount < BEYOND.length ? "" : `${cut}${BEYOND}`;
}

export function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += columnsOfCharacter(character);
  return columns;
}

const ZERO_WIDTH = /\p{M}/u;
// East Asian scripts and emoji take two columns in every terminal.
const DOUBLE_WIDTH =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

function columnsOfCharacter(character: string): number {
  if (ZERO_WIDTH.test(character)) return 0;
  return DOUBLE_WIDTH.test(character) ? 2 : 1;
}
