/** TABLE how much an output may be. docs/deploying-sites.md: Limits. */
export const OUTPUT_LIMITS = {
  /** Files, links and empty folders of an upload. */
  files: 20_000,
  /** Bytes of all files, and of one. */
  bytes: 1024 ** 3,
  fileBytes: 100 * 1024 ** 2,
  /** Characters of a path, and bytes of one name in it. */
  path: 1024,
  name: 255,
  depth: 64,
  /** Characters of all paths together. */
  paths: 4 * 1024 ** 2,
  /** Bytes of config.json, of a file beside a function, and of all of the latter. */
  configBytes: 4 * 1024 ** 2,
  functionConfigBytes: 1024 ** 2,
  functionConfigsBytes: 32 * 1024 ** 2,
  /** Values, keys and separators of such a file. Parsing costs by these, not by bytes: 4 MiB of brackets block for 0.4 s. */
  jsonTokens: 200_000,
  /** Rules, their patterns and texts. */
  routes: 2048,
  pattern: 4096,
  conditions: 16,
  transforms: 64,
  /** Names in the transforms of all rules. */
  transformNames: 4096,
  headers: 128,
  headerValue: 8192,
  /** Entries of `filePathMap` of all functions. */
  mappedFiles: 100_000,
  /** Links that lead to links. */
  linkChain: 8,
  crons: 100,
  wildcards: 1000,
  /** Bytes of the routing manifest as JSON. */
  manifestBytes: 8 * 1024 ** 2,
} as const
