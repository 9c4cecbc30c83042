export type Actor = {
  /** `integration`: an installation, by its token. `client`: an app, by its client secret. */
  kind: 'user' | 'operator' | 'timer' | 'integration' | 'client'
  id: string
  tokenId: string | null
}
