/** The clients that people own, as they are published: what they are called here, and what npm is asked for. */

const SDK_VERSIONS = [
  '1.1.0',
  '1.2.0',
  '1.3.1',
  '1.4.0',
  '1.6.3',
  '1.7.7',
  '1.8.5',
  '1.11.4',
  '1.13.6',
  '1.18.5',
  '1.18.8',
  '1.28.35',
] as const
const CLI_VERSIONS = ['39.1.3', '44.7.3', '50.0.1', '50.44.0', '64.0.2'] as const

/** `between`: driven on one engine, and with what differs from version to version. */
export type Client = {
  name: string
  package: string
  version: string
  between?: boolean
  overrides?: Record<string, string>
}

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
]
