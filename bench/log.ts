// What a bench prints: progress on stderr, results on stdout.

export const say = (text: string): void => void process.stderr.write(`· ${text}\n`);
export const print = (text: string): void => void process.stdout.write(`${text}\n`);
