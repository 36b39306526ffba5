// The flags of every command that starts a platform.
import type { Command } from "commander";
import { DEFAULT_API_PORT, ENGINES, LOOPBACK, type PlatformSettings } from "../config.ts";
import { choiceOption } from "./choices.ts";

export const withPlatformFlags = (command: Command, homePlace: string): Command =>
  command
    .addOption(choiceOption("--engine <kind>", "what runs functions", ENGINES, "auto"))
    .option("--staging-port <port>", "where staging answers", "3333")
    .option("--production-port <port>", "where production answers", "3334")
    .option("--api-port <port>", "where the management API answers", String(DEFAULT_API_PORT))
    .option("--listen <address...>", "addresses where staging and production answer (default: this machine's own, 127.0.0.1 and ::1)")
    .option("--tls-cert <file>", "a certificate with its chain, as PEM: staging and production speak HTTPS; read again when it changes")
    .option("--tls-key <file>", "the certificate's key, as PEM")
    .option("--nats <url>", "a nats-server of your own (see: orchestrator nats config)")
    .option("--home <dir>", `where state is kept (default: .orchestrator ${homePlace})`)
    .option("--trust-proxy <range...>", "addresses of proxies whose x-forwarded-* headers are believed")
    .option("--json", "print JSON, one object per line");

/** What a platform shows of where it answers, where that is anywhere else than on this machine. */
export const listenRow = ({ listen }: PlatformSettings): (readonly [label: string, text: string])[] =>
  listen === LOOPBACK ? [] : [["listens on", listen.join(", ")]];
