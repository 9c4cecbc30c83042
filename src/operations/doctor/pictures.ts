/** Pictures of sites in `berth doctor`: whether they are resized. docs/pictures.md. */
import type { Config } from '../../config.ts'
import { isBesideSites } from '../../platform/tls/local-certificate.ts'
import type { Finding } from './finding.ts'

/** Says whether pictures are resized or sent as they are, and why. */
export async function checkPictures(config: Config): Promise<Finding[]> {
  const { mode } = config.functions
  if (mode === undefined && !isBesideSites(config)) return []
  return [{ about: 'pictures', is: 'well', found: FOUND[mode ?? 'laptop'] }]
}

/** TABLE BERTH_FUNCTIONS → what happens to pictures. On a laptop it is decided at the start. */
const FOUND = {
  sandboxed: 'resized, each in a sandbox; sharp is installed with the first one',
  laptop: 'resized where a sandbox starts, else sent as they are',
  trusted: 'sent as they are: BERTH_FUNCTIONS is trusted, and they are resized in sandboxes alone',
  off: 'sent as they are: BERTH_FUNCTIONS is off',
} as const
