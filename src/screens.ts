/** TABLE what people see in a browser. */
import { accountScreens } from './accounts/sign-in-page.ts'
import type { Screen } from './http/screen.ts'
import { consentScreens } from './integrations/consent.ts'
import { installedScreens } from './integrations/installed-page.ts'
import { invitationScreens } from './invitations/invitation-page.ts'
import { heldScreens } from './webhooks/held-page.ts'

export const SCREENS: readonly Screen[] = [
  ...accountScreens,
  ...consentScreens,
  ...installedScreens,
  ...invitationScreens,
  ...heldScreens,
]
