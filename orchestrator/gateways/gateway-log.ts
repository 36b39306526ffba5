// Keeps the log of a gateway from growing without end: the newest lines, and those before them in a second file.
import { copyFile, stat, truncate } from "node:fs/promises";
import { GATEWAY_LOG_BYTES_MAX } from "../../runtime-image/contract/limits.ts";

/** It is appended to, at times by two processes, so it is emptied and not replaced. What is written in that moment is lost. */
export async function boundGatewayLog(file: string, bytesMax: number = GATEWAY_LOG_BYTES_MAX): Promise<void> {
  const bytes = await stat(file).then(
    ({ size }) => size,
    () => 0, // It is made with the first process.
  );
  if (bytes <= bytesMax) return;
  await copyFile(file, `${file}.1`).catch(() => undefined); // On a full disk room counts for more than what was said before.
  await truncate(file, 0);
}
