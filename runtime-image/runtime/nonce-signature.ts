// Signs the broker's nonce with Node's own Ed25519: the client's signs in plain JavaScript, which took 10 to 20 ms of every connection.
import { createPrivateKey, sign } from "node:crypto";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"; // RFC 4648 6: base32.
const PREFIX_BYTES = 2; // What kind of key it is.
const KEY_BYTES = 32;
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex"); // RFC 8410 7: an Ed25519 private key follows.

/** The seed is an nkey: base32 of a prefix, the key and a checksum. */
export function signNonce(seed: string, nonce: string): string {
  const key = decodeBase32(seed).subarray(PREFIX_BYTES, PREFIX_BYTES + KEY_BYTES);
  if (key.length !== KEY_BYTES) throw new Error("the seed is no nkey");
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, key]), format: "der", type: "pkcs8" });
  return sign(null, Buffer.from(nonce), privateKey).toString("base64");
}

function decodeBase32(text: string): Buffer {
  const bytes: number[] = [];
  let bits = 0;
  let bitCount = 0;
  for (const character of text) {
    const value = ALPHABET.indexOf(character);
    if (value === -1) throw new Error("the seed is no base32");
    bits = (bits << 5) | value;
    bitCount += 5;
    if (bitCount < 8) continue;
    bitCount -= 8;
    bytes.push((bits >> bitCount) & 0xff);
    bits &= (1 << bitCount) - 1;
  }
  return Buffer.from(bytes);
}
