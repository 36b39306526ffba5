// orchestrator deploy [folder]: sends a folder, shows its steps, and ends when staging runs it.
import { resolve } from "node:path";
import { Transform } from "node:stream";
import type { Command } from "commander";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { ApiClient } from "../api/client.ts";
import { bytesText } from "../bytes-text.ts";
import { printLine, printNotice, showProgress } from "../log.ts";
import { packFolder } from "../sources/pack-folder.ts";
import { BEGUN_DELIVERY, checkedAnswer } from "./answers.ts";
import { apiOf } from "./api-flags.ts";
import { type AppFlags, withAppFlags } from "./app-flags.ts";
import { concludeDelivery } from "./conclude-delivery.ts";
import { EXIT_INTERRUPTED, type Settle } from "./exit-codes.ts";
import { taskStyleOf } from "./follow-delivery.ts";
import { onInterrupts } from "./interrupts.ts";
import { promoteRelease } from "./promote-command.ts";
import { plural, queryOf } from "./store-flags.ts";

interface DeployFlags extends AppFlags {
  readonly message?: string;
  readonly promote?: boolean;
  readonly detach?: boolean;
}

export function addDeploy(program: Command, settle: Settle): void {
  withAppFlags(
    program
      .command("deploy")
      .description("Sends a folder, builds and tests it, and puts it on staging when it is green.")
      .argument("[folder]", "the app's folder; what its ignore files name is left out", ".")
      .option("-m, --message <text>", "what it changes, for the list of releases")
      .option("--promote", "also promote it to production when it is green")
      .option("--detach", "print the delivery's id and do not wait for it"),
  )
    .addHelpText(
      "after",
      "\nIt ends with 0 when it is green, with 1 when it is not, and with 130 after Ctrl-C, which cancels it." +
        '\n\nExamples:\n  orchestrator deploy\n  orchestrator deploy my-app --app shop -m "A new front page" --promote\n' +
        "  orchestrator deploy --detach && orchestrator deliveries",
    )
    .action(async (folder: string, flags: DeployFlags) => deploy(resolve(folder), flags, settle));
}

async function deploy(folder: string, flags: DeployFlags, settle: Settle): Promise<void> {
  const isJson = flags.json === true;
  const problems = flags.detach === true && flags.promote === true ? ["--promote: is not possible with --detach: it waits for green"] : [];
  const api = await apiOf(flags, "orchestrator deploy --help", problems);
  const sent = await send(folder, api, flags);
  if (sent.kind === "interrupted") return settle(EXIT_INTERRUPTED);
  const { deliveryId } = checkedAnswer(BEGUN_DELIVERY, sent.answer, "POST /api/deliveries");
  if (isJson) printLine(JSON.stringify(sent.answer));
  if (flags.detach === true) {
    if (!isJson) printLine(deliveryId);
    return printNotice(`follow it with: orchestrator delivery log ${deliveryId} --follow`);
  }
  const releaseId = await concludeDelivery({ api, deliveryId, style: taskStyleOf(isJson), onInterrupt: "cancel" }, settle);
  if (flags.promote === true && releaseId !== null) await promoteRelease(api, { ...flags, release: releaseId }, settle);
}

type Sent = { readonly kind: "answered"; readonly answer: unknown } | { readonly kind: "interrupted" };

async function send(folder: string, api: ApiClient, { app, message }: DeployFlags): Promise<Sent> {
  const stopping = new AbortController();
  const interrupts = onInterrupts(() => stopping.abort());
  const progress = { failure: null as unknown, isWhole: false };
  try {
    const { archive, fileCount } = await packFolder(folder, { signal: stopping.signal });
    archive.once("error", (cause) => (progress.failure = cause));
    const counted = archive.pipe(counting(`sending ${plural(fileCount, "file")}`, () => (progress.isWhole = true)));
    archive.once("error", (cause) => counted.destroy(cause)); // pipe() alone would leave the request open.
    const options = { contentType: "application/gzip", signal: stopping.signal };
    return { kind: "answered", answer: await api.upload(`/api/deliveries${queryOf({ app, message })}`, counted, options) };
  } catch (cause) {
    if (stopping.signal.aborted) {
      const rest = progress.isWhole ? "the orchestrator may have it already; see: orchestrator deliveries" : "nothing is deployed";
      printNotice(`interrupted while it was sent; ${rest}`);
      return { kind: "interrupted" };
    }
    // The client takes whatever breaks an upload off for the orchestrator's absence.
    throw progress.failure instanceof PlatformError ? progress.failure : cause;
  } finally {
    interrupts.close();
    showProgress(null);
  }
}

function counting(label: string, onEnd: () => void): Transform {
  let byteCount = 0;
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      byteCount += chunk.length;
      showProgress(`${label}: ${bytesText(byteCount)}`);
      done(null, chunk);
    },
    flush: (done) => {
      onEnd();
      done();
    },
  });
}
