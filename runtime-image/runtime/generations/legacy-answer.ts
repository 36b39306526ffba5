// Reads the response object of payload version 1.0, and says what is wrong with a wrong one.
import { addCookies, addDefaultType, addHeaders, bodyBytes, checkHeaderBytes, readFlag, readStatus } from "./answer-parts.ts";
import type { Answer } from "./generation.ts";
import { addMultiValueHeaders, JSON_TYPE, readFields } from "./older-answer.ts";

// "cookies" came with payload version 2.0: an app that is half way there should not lose its sessions.
const FIELDS = ["statusCode", "headers", "multiValueHeaders", "body", "isBase64Encoded", "cookies"] as const;

export function toLegacyAnswer(value: unknown): Answer {
  const fields = readFields(value, FIELDS);
  const status = readStatus(fields.statusCode);
  const headers: string[] = [];
  addHeaders(headers, fields.headers);
  addMultiValueHeaders(headers, fields.multiValueHeaders);
  addCookies(headers, fields.cookies);
  addDefaultType(headers, status, JSON_TYPE);
  checkHeaderBytes(headers);
  return { status, headers, body: bodyBytes(fields.body, readFlag(fields.isBase64Encoded)) };
}
