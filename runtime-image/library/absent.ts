// What the originals could do and this platform cannot: present, so that apps load, and clear about it when it is used.

const refuse =
  (what: string, instead: string) =>
  (..._values: readonly unknown[]): never => {
    throw new Error(`${what} is not part of this platform. ${instead}`);
  };

const CALL_DIRECTLY = "Do the work in the function that answers the request, or in code below src/shared.";
const USE_DATA = "Documents are kept with the package @orchestrator/data.";

export const events = {
  publish: refuse("events.publish()", CALL_DIRECTLY),
  subscribe: refuse("events.subscribe()", CALL_DIRECTLY),
};

export const queues = {
  publish: refuse("queues.publish()", CALL_DIRECTLY),
  subscribe: refuse("queues.subscribe()", CALL_DIRECTLY),
};

export const scheduled = refuse("scheduled()", "Call one of the app's routes from a scheduler of your own, such as cron.");
export const tables = refuse("tables()", USE_DATA);
export const services = refuse("services()", "Addresses of other services belong into the environment's variables.");

const NO_SOCKETS = "A server for WebSockets can stand behind @proxy.";
export const ws = {
  send: refuse("ws.send()", NO_SOCKETS),
  close: refuse("ws.close()", NO_SOCKETS),
  info: refuse("ws.info()", NO_SOCKETS),
  api: refuse("ws.api()", NO_SOCKETS),
};
