// The time of a request as AWS writes it in its events.

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** "12/Mar/2020:19:03:58 +0000". Most requests share their second with the one before. */
export function createTimeFormat(): (epochMs: number) => string {
  let lastSecond = -1;
  let lastText = "";
  return (epochMs) => {
    const second = Math.floor(epochMs / 1000);
    if (second !== lastSecond) {
      lastSecond = second;
      lastText = formatTime(new Date(second * 1000));
    }
    return lastText;
  };
}

function formatTime(date: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${two(date.getUTCDate())}/${MONTHS[date.getUTCMonth()] ?? ""}/${date.getUTCFullYear()}`;
  return `${day}:${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())} +0000`;
}
