/** The clients that users have, as they are published: their names here, and the npm packages. */

/** Oldest first. */
export const SDK_VERSIONS = [
  '1.1.0',
  '1.2.0',
  '1.3.1',
  '1.4.0',
  '1.6.3',
  '1.7.7',
  '1.8.5',
  '1.11.4',
  '1.13.6',
  '1.16.0',
  '1.18.5',
  '1.18.8',
  '1.19.40',
  '1.28.35',
] as const
const CLI_VERSIONS = ['33.7.1', '39.1.3', '44.7.3', '50.0.1', '50.44.0', '56.5.0', '64.0.2'] as const

/** `between`: driven on one engine, and with what differs from version to version. */
export type Client = {
  name: string
  package: string
  version: string
  between?: boolean
  overrides?: Record<string, string>
}

/** What reads the OpenAPI document: linters, and generators of clients. Driven by test/clients/openapi.test.ts, and no column of a table. */
const READERS: readonly Client[] = [
  { name: 'openapi-redocly', package: '@redocly/cli', version: '2.77.0' },
  { name: 'openapi-spectral', package: '@stoplight/spectral-cli', version: '6.16.3' },
  { name: 'openapi-typescript', package: 'openapi-typescript', version: '7.13.0' },
  { name: 'openapi-fetch', package: 'openapi-fetch', version: '0.17.0' },
  // TypeScript 7 has no interface for programs, which it asks for.
  { name: 'openapi-hey', package: '@hey-api/openapi-ts', version: '0.99.0', overrides: { typescript: '5.9.3' } },
]

/** The clients of the short form of a run: the most common ones, and the newest. */
export const IN_SHORT: ReadonlySet<string> = new Set(['sdk-1.16.0', 'sdk-1.28.35', 'cli-39.1.3', 'cli-64.0.2'])

export const CLIENTS: readonly Client[] = [
  ...SDK_VERSIONS.map((version) => ({ name: `sdk-${version}`, package: '@vercel/sdk', version })),
  ...CLI_VERSIONS.map((version) => ({
    name: `cli-${version}`,
    package: 'vercel',
    version,
    between: version !== '39.1.3' && version !== '64.0.2',
    // The release that it pins was never published.
    ...(version === '64.0.2' && { overrides: { sandbox: '4.5.0' } }),
  })),
  ...READERS,
  // What programs deploy with, without a command line.
  { name: 'other-vercel-client', package: '@vercel/client', version: '18.4.2' },
  // A server, from which `berth import` copies.
  { name: 'import-emulate-0.12.2', package: 'emulate', version: '0.12.2' },
]
