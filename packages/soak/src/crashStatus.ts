/** What the tool `crash` of the server over stdio ends its process with. */
export const crashStatus = 70
