/** Root gives its rights away before anything starts inside: `nobody` of Debian. */
export const RUN_AS = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined
