// Who exists inside our images: root, and the one user that functions and installs run as.

const UID = 10001;

// Code that asks for its own user's name gets an answer, and one without a home or a shell.
const PASSWD = `root:x:0:0:root:/root:/sbin/nologin\nfunction:x:${UID}:${UID}:function:/tmp:/sbin/nologin\n`;
const GROUP = `root:x:0:\nfunction:x:${UID}:\n`;

export const ACCOUNT_FILES: readonly { readonly path: string; readonly bytes: Uint8Array }[] = [
  { path: "etc/passwd", bytes: Buffer.from(PASSWD) },
  { path: "etc/group", bytes: Buffer.from(GROUP) },
];
