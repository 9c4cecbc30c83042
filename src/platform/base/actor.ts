/** Who acts, as the audit log names them. */
export type Actor = {
  /** `integration`: an installation, by its token. `client`: an app that proves itself by its secret. */
  kind: 'user' | 'operator' | 'timer' | 'integration' | 'client'
  id: string
  tokenId: string | null
}
