// One request of a client as a dispatcher sees it: what is asked, and how the answer gets back to the client.
import type { ServerResponse } from "node:http";
import type { Environment } from "../runtime-image/contract/instance-manifest.ts";
import type { ErrorCode } from "../runtime-image/contract/errors.ts";
import { createSink, writeError, writeErrorAndLinger, writeWhole } from "./answer.ts";
import { giveBack, type ByteCount } from "./body.ts";
import { acceptsHtml, errorAnswer, type ErrorPages, ownErrorAnswer, prefersHtml } from "./error-page.ts";
import type { BodySink, HeldAnswer, Job, RequestParts, SiteAnswer, WholeAnswer } from "./dispatch/job.ts";
import type { Site } from "./sites/site.ts";

/** What all requests of a gateway share. */
export interface Serving {
  readonly environment: Environment;
  readonly heldBodies: ByteCount;
  /** Answers whose bytes the kernel did not take at once; they are looked after. */
  readonly unflushed: Map<ServerResponse, number>;
  openCount: number; // Requests that wait for their answer.
  /** Null until this process goes; from then on it says `connection: close` in answers. */
  announceEnd: ((response: ServerResponse) => void) | null;
  endsTunnels: boolean; // New WebSockets are no longer taken, and silent ones are ended.
}

/** What of the app a job takes along. */
interface JobParts {
  readonly body: Uint8Array;
  readonly site: Site | null; // As it was when the request was sent.
  readonly answerFromSite: AnswerFromSite;
}

/** One for all jobs of a gateway. */
export type AnswerFromSite = (job: HttpJob, asked: SiteAnswer) => void;

export interface HttpJobParts {
  readonly serving: Serving;
  readonly response: ServerResponse;
  readonly id: string;
  readonly accept: string;
  readonly pages: ErrorPages; // The app's own, where it is known.
  readonly nowMs: () => number;
}

export interface FailOptions {
  readonly lingers?: boolean; // A body is still coming: the connection ends with the answer.
  readonly isPageForAll?: boolean; // The app's own page also for clients that take pages without asking for them.
  readonly headers?: readonly string[]; // Names and values in turn, besides those of every error.
}

const PLAIN: FailOptions = {};

/** A class, because one is made for every request: its methods are made once. */
export class HttpExchange {
  readonly parts: HttpJobParts;
  isOver = false;
  bodyBytes = 0; // Counted as held until the end.

  constructor(parts: HttpJobParts) {
    this.parts = parts;
    parts.serving.openCount++;
  }

  /** Ends the book-keeping; later calls do nothing, because a client may go at any time. */
  finish(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.parts.serving.openCount--;
    if (this.bodyBytes > 0) giveBack(this.parts.serving.heldBodies, this.bodyBytes);
  }

  isAbandoned(): boolean {
    const { socket, destroyed } = this.parts.response;
    return destroyed || socket === null ? this.parts.response.req.socket.destroyed : socket.destroyed;
  }

  /** Whether there is still someone to answer; also says "last answer" while this process goes. */
  begin(): boolean {
    const { response, serving } = this.parts;
    if (this.isOver) return false;
    if (this.isAbandoned()) {
      this.finish();
      return false;
    }
    if (serving.announceEnd !== null) serving.announceEnd(response);
    return true;
  }

  end(): void {
    const { response, serving, nowMs } = this.parts;
    if (response.writableLength > 0) serving.unflushed.set(response, nowMs());
    this.finish();
  }

  fail(code: ErrorCode, detail?: string, options = PLAIN): void {
    if (!this.begin()) return;
    const { response, id, accept, pages, serving } = this.parts;
    const isPage = options.isPageForAll === true ? acceptsHtml(accept) : prefersHtml(accept);
    const own = isPage ? ownErrorAnswer(pages, { code, requestId: id }) : null;
    const answer = own ?? errorAnswer({ code, requestId: id, accept, detail: visibleDetail(code, detail, serving.environment) });
    const full = options.headers === undefined ? answer : { ...answer, headers: [...answer.headers, ...options.headers] };
    if (options.lingers === true) writeErrorAndLinger(response, full);
    else writeError(response, full);
    this.end();
  }
}

export class HttpJob extends HttpExchange implements Job {
  readonly request: RequestParts;
  readonly body: Uint8Array;
  readonly site: Site | null;
  readonly #answerFromSite: AnswerFromSite;

  constructor(parts: HttpJobParts, request: RequestParts, { body, site, answerFromSite }: JobParts) {
    super(parts);
    this.request = request;
    this.body = body;
    this.site = site;
    this.#answerFromSite = answerFromSite;
  }

  answer(header: WholeAnswer, body: Uint8Array): void {
    if (!this.begin()) return;
    const written = writeWhole(this.parts.response, { header, body, requestId: this.parts.id });
    if (written === null) this.fail("HANDLER_ANSWER_INVALID", "A status, length or header of the answer cannot be sent.");
    else this.end();
  }

  answerFromSite(header: SiteAnswer): void {
    this.#answerFromSite(this, header);
  }

  stream(header: HeldAnswer): BodySink | null {
    if (!this.begin()) return null;
    const sink = createSink(this.parts.response, {
      header,
      requestId: this.parts.id,
      fail: (code, detail) => this.fail(code, detail),
      onOver: () => this.end(),
    });
    if (sink === null) this.fail("HANDLER_ANSWER_INVALID", "A status or length of the answer cannot be sent.");
    return sink;
  }
}

const PROMOTE = "Promote what runs in staging with `orchestrator promote`, or deploy with `--promote`.";

/** Explanations may hold an owner's paths and stacks. Production shows only what its owner has to do. */
export function visibleDetail(code: ErrorCode, detail: string | undefined, environment: Environment): string | null {
  if (code === "NOTHING_DEPLOYED") return environment === "production" ? PROMOTE : "Deploy with `orchestrator up`.";
  return environment === "production" ? null : (detail ?? null);
}
