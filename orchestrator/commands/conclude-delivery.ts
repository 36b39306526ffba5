// How a command ends that began a delivery, or looked on: green is its success, everything else an error or an interruption.
import { type ErrorCode, PlatformError } from "../../runtime-image/contract/errors.ts";
import type { DeliveryState } from "../deliveries/delivery.ts";
import { printLine, printNotice } from "../log.ts";
import type { EndLine } from "./answers.ts";
import { EXIT_INTERRUPTED, type Settle } from "./exit-codes.ts";
import { type Followed, type Following, followDelivery } from "./follow-delivery.ts";
import { plainText } from "./plain-text.ts";

/** The release that is on staging now; null where the command was interrupted. */
export async function concludeDelivery(following: Following, settle: Settle): Promise<string | null> {
  const followed = await followDelivery(following);
  if (followed.isInterrupted) {
    printNotice(interruptionText(followed, following.deliveryId));
    settle(EXIT_INTERRUPTED);
    return null;
  }
  const { end } = followed;
  const failure = end === null ? null : failureOf(end, following.deliveryId);
  if (failure !== null) throw failure;
  const releaseId = end?.releaseId ?? null;
  if (following.style !== "json") printLine(releaseId === null ? "green" : `staging runs release ${plainText(releaseId)}`);
  return releaseId;
}

function interruptionText({ end }: Followed, deliveryId: string): string {
  const look = `see: orchestrator delivery log ${deliveryId}`;
  if (end === null) return `interrupted; what became of delivery ${deliveryId} is not known here; ${look}`;
  if (end.state === "green") return `interrupted too late: staging runs release ${plainText(end.releaseId ?? "")}`;
  return `interrupted; delivery ${deliveryId} is ${end.state}`;
}

const CODES: Readonly<Record<Exclude<DeliveryState, "green">, ErrorCode>> = {
  red: "DEPLOY_FAILED",
  cancelled: "DELIVERY_CANCELLED",
  superseded: "DEPLOY_SUPERSEDED",
  queued: "INTERNAL", // No delivery ends so.
  running: "INTERNAL",
};

/** Null where it is green. What it says comes from the app's own scripts, too, and is shown on a terminal. */
export function failureOf({ state, detail, problems, remedy }: EndLine, deliveryId: string): PlatformError | null {
  if (state === "green") return null;
  return new PlatformError(CODES[state], {
    ...(detail === null ? {} : { detail: shownText(detail) }),
    ...(problems.length === 0 ? {} : { problems: problems.map(shownText) }),
    remedy: remedy === null ? `See: orchestrator delivery log ${deliveryId}` : shownText(remedy),
  });
}

const shownText = (text: string): string => text.split(/\r?\n/).map(plainText).join("\n");
