/** The folders of `packages/node` and `packages/next` of vercel/vercel at 17d9ebaf8e that are not built, and probes that fail, each with the reason. */

const PROGRAM = 'its probe is a program and no table'
const REFUSED = 'is there to be refused by the builder'
const BUN = 'needs Bun'
const AWS = 'its handler is one of AWS Lambda, which Berth does not call'
const SKIPPED =
  'upstream skips it: its framework is of a Node.js that is no longer supported, or its test is not reliable'

/** TABLE what is not built of each package, and why. */
export const LEFT_OUT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  node: {
    ...all(PROGRAM, '37-vercel-og'),
    ...all(REFUSED, '45-noEmitOnError-true'),
    ...all(BUN, '64-bun-runtime'),
    ...all(AWS, '25-aws-api 48-change-handler-by-env'),
  },
  next: {
    ...all(PROGRAM, '00-app-dir-segment-options 00-optional-fallback-revalidate 27-preview-mode 38-cold-boot-lab'),
    ...all(BUN, '00-bun-runtime'),
    ...all(
      SKIPPED,
      '00-index-isr 00-initial-notfound-revalidate-i18n-previous 00-legacy-404 00-legacy-monorepo-index-route',
      '00-legacy-routes-nested 00-node-middleware 00-node-proxy 00-non-server-build 00-server-build-initial',
      '00-shared-lambdas 00-shared-lambdas-invalid-node-env 00-static-metadata-test 00-test-limit-server-build',
      '00-test-limit-shared-lambdas 03-next-8 05-spr-support 09-yarn-workspaces 18-ssg-fallback-support',
      '20-pages-404-lambda 24-custom-output-dir 25-mono-repo-404 26-mono-repo-404-lambda 27-non-word-param',
      '30-monorepo-no-script 32-custom-install-command 34-middleware',
    ),
  },
}

/** TABLE probes that fail, by what they ask, with the reason. */
export const FAILING_PROBES: Readonly<Record<string, string>> = {
  '10-node-engines /empty c0ffee1dea:20': 'new projects have Node.js 22 here: docs/spec/decisions.md',
  '06-ts-esm /api/proxy Example Domain': 'asks a host of the internet, which the machine may not reach',
}

/** TABLE errors of probes that are decisions, with the reason. */
export const DECIDED_FAULTS: readonly (readonly [RegExp, string])[] = [
  [
    /^vary: (.+), accept-encoding, and not \1$/,
    'a cache in front must know that answers are compressed: RFC 9110 12.5.5',
  ],
]

function all(why: string, ...names: string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((line) => line.split(' ')).map((name) => [name, why]))
}
