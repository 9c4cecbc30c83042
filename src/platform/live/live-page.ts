/** An open page that is notified of changes. */

/** A page: in whose session it is open, of which account, and of which project of it. */
export type LivePage = { sessionHash: string; userId: string; accountId: string; projectId: string | undefined }
