/** TABLE limits of an output. docs/deploying-sites.md: Limits. */
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
  paths: 4 * 1024 ** 2,
  /** Bytes of config.json, of one function config, and of all function configs. */
  configBytes: 4 * 1024 ** 2,
  functionConfigBytes: 1024 ** 2,
  functionConfigsBytes: 32 * 1024 ** 2,
  /** Values, keys and separators of such a file. They determine the cost of parsing: 4 MiB of brackets block for 0.4 s. */
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
  mappedFiles: 100_000,
  /** Bytes of the list of what one function has on disk. */
  functionListBytes: 8 * 1024 ** 2,
  linkChain: 8,
  crons: 100,
  wildcards: 1000,
  manifestBytes: 8 * 1024 ** 2,
} as const
