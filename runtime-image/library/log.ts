// What the library has to say to an app's owner: the runtime captures the console, and tags each line with its request.

export const logError = (thrown: unknown): void => console.error(thrown);
