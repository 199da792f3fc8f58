//! Cases of the rule set `browser-caches`. The parent module describes the notation.

pub(super) const CASES: &str = r"
chrome.cache
+ {local}/Google/Chrome/User Data/Default/Cache/Cache_Data/f_000001
+ {local}/Google/Chrome/User Data/ShaderCache/data_0
+ {cache}/google-chrome/Default/Cache/f_000001
+ {config}/google-chrome/Profile 1/GPUCache/data_0
+ {data}/Google/Chrome/Default/GPUCache/data_0
- {local}/Google/Chrome/User Data/Default/Cookies
- {local}/Google/Chrome/User Data/Default/Login Data
- {local}/Google/Chrome/User Data/Default/Cache.bak/f_000001
- {local}/Google/Chrome/User Data/Cache/f_000001
- {local}/Google/Chrome/User Data/Default/Storage/Cache/f_000001
- {config}/google-chrome/Default/History
- {local}/Google/Chrome/User Data/Default/IndexedDB/a/x
chrome.service-workers
+ {local}/Google/Chrome/User Data/Default/Service Worker/CacheStorage/0a/1b/x
- {local}/Google/Chrome/User Data/Default/Service Worker/Database/x
- {local}/Google/Chrome/User Data/Default/CacheStorage/x
- {local}/Google/Chrome/User Data/Default/Local Storage/leveldb/x
chrome.crash-reports
+ {local}/Google/Chrome/User Data/Crashpad/reports/0a1b.dmp
+ {config}/google-chrome/Crash Reports/pending/0a1b.dmp
- {local}/Google/Chrome/User Data/Crashpad/settings.dat
- {local}/Google/Chrome/User Data/reports/0a1b.dmp
- {local}/Google/Chrome/User Data/Default/Crashpad/reports/0a1b.dmp
chromium.cache
+ {local}/Chromium/User Data/Default/Cache/Cache_Data/f_000001
+ {local}/Chromium/User Data/ShaderCache/data_0
+ {cache}/chromium/Default/Cache/f_000001
+ {config}/chromium/Profile 1/GPUCache/data_0
+ {data}/Chromium/Default/GPUCache/data_0
- {local}/Chromium/User Data/Default/Cookies
- {local}/Chromium/User Data/Default/Login Data
- {local}/Chromium/User Data/Default/Cache.bak/f_000001
- {local}/Chromium/User Data/Cache/f_000001
- {local}/Chromium/User Data/Default/Storage/Cache/f_000001
- {config}/chromium/Default/History
- {local}/Chromium/User Data/Default/IndexedDB/a/x
chromium.service-workers
+ {local}/Chromium/User Data/Default/Service Worker/CacheStorage/0a/1b/x
- {local}/Chromium/User Data/Default/Service Worker/Database/x
- {local}/Chromium/User Data/Default/CacheStorage/x
- {local}/Chromium/User Data/Default/Local Storage/leveldb/x
chromium.crash-reports
+ {local}/Chromium/User Data/Crashpad/reports/0a1b.dmp
+ {config}/chromium/Crash Reports/pending/0a1b.dmp
- {local}/Chromium/User Data/Crashpad/settings.dat
- {local}/Chromium/User Data/reports/0a1b.dmp
- {local}/Chromium/User Data/Default/Crashpad/reports/0a1b.dmp
edge.cache
+ {local}/Microsoft/Edge/User Data/Default/Cache/Cache_Data/f_000001
+ {local}/Microsoft/Edge/User Data/ShaderCache/data_0
+ {cache}/microsoft-edge/Default/Cache/f_000001
+ {config}/microsoft-edge/Profile 1/GPUCache/data_0
+ {data}/Microsoft Edge/Default/GPUCache/data_0
- {local}/Microsoft/Edge/User Data/Default/Cookies
- {local}/Microsoft/Edge/User Data/Default/Login Data
- {local}/Microsoft/Edge/User Data/Default/Cache.bak/f_000001
- {local}/Microsoft/Edge/User Data/Cache/f_000001
- {local}/Microsoft/Edge/User Data/Default/Storage/Cache/f_000001
- {config}/microsoft-edge/Default/History
- {local}/Microsoft/Edge/User Data/Default/IndexedDB/a/x
edge.service-workers
+ {local}/Microsoft/Edge/User Data/Default/Service Worker/CacheStorage/0a/1b/x
- {local}/Microsoft/Edge/User Data/Default/Service Worker/Database/x
- {local}/Microsoft/Edge/User Data/Default/CacheStorage/x
- {local}/Microsoft/Edge/User Data/Default/Local Storage/leveldb/x
edge.crash-reports
+ {local}/Microsoft/Edge/User Data/Crashpad/reports/0a1b.dmp
+ {config}/microsoft-edge/Crash Reports/pending/0a1b.dmp
- {local}/Microsoft/Edge/User Data/Crashpad/settings.dat
- {local}/Microsoft/Edge/User Data/reports/0a1b.dmp
- {local}/Microsoft/Edge/User Data/Default/Crashpad/reports/0a1b.dmp
brave.cache
+ {local}/BraveSoftware/Brave-Browser/User Data/Default/Cache/Cache_Data/f_000001
+ {local}/BraveSoftware/Brave-Browser/User Data/ShaderCache/data_0
+ {cache}/BraveSoftware/Brave-Browser/Default/Cache/f_000001
+ {config}/BraveSoftware/Brave-Browser/Profile 1/GPUCache/data_0
+ {data}/BraveSoftware/Brave-Browser/Default/GPUCache/data_0
- {local}/BraveSoftware/Brave-Browser/User Data/Default/Cookies
- {local}/BraveSoftware/Brave-Browser/User Data/Default/Login Data
- {local}/BraveSoftware/Brave-Browser/User Data/Default/Cache.bak/f_000001
- {local}/BraveSoftware/Brave-Browser/User Data/Cache/f_000001
- {local}/BraveSoftware/Brave-Browser/User Data/Default/Storage/Cache/f_000001
- {config}/BraveSoftware/Brave-Browser/Default/History
- {local}/BraveSoftware/Brave-Browser/User Data/Default/IndexedDB/a/x
brave.service-workers
+ {local}/BraveSoftware/Brave-Browser/User Data/Default/Service Worker/CacheStorage/0a/1b/x
- {local}/BraveSoftware/Brave-Browser/User Data/Default/Service Worker/Database/x
- {local}/BraveSoftware/Brave-Browser/User Data/Default/CacheStorage/x
- {local}/BraveSoftware/Brave-Browser/User Data/Default/Local Storage/leveldb/x
brave.crash-reports
+ {local}/BraveSoftware/Brave-Browser/User Data/Crashpad/reports/0a1b.dmp
+ {config}/BraveSoftware/Brave-Browser/Crash Reports/pending/0a1b.dmp
- {local}/BraveSoftware/Brave-Browser/User Data/Crashpad/settings.dat
- {local}/BraveSoftware/Brave-Browser/User Data/reports/0a1b.dmp
- {local}/BraveSoftware/Brave-Browser/User Data/Default/Crashpad/reports/0a1b.dmp
vivaldi.cache
+ {local}/Vivaldi/User Data/Default/Cache/Cache_Data/f_000001
+ {local}/Vivaldi/User Data/ShaderCache/data_0
+ {cache}/vivaldi/Default/Cache/f_000001
+ {config}/vivaldi/Profile 1/GPUCache/data_0
+ {data}/Vivaldi/Default/GPUCache/data_0
- {local}/Vivaldi/User Data/Default/Cookies
- {local}/Vivaldi/User Data/Default/Login Data
- {local}/Vivaldi/User Data/Default/Cache.bak/f_000001
- {local}/Vivaldi/User Data/Cache/f_000001
- {local}/Vivaldi/User Data/Default/Storage/Cache/f_000001
- {config}/vivaldi/Default/History
- {local}/Vivaldi/User Data/Default/IndexedDB/a/x
vivaldi.service-workers
+ {local}/Vivaldi/User Data/Default/Service Worker/CacheStorage/0a/1b/x
- {local}/Vivaldi/User Data/Default/Service Worker/Database/x
- {local}/Vivaldi/User Data/Default/CacheStorage/x
- {local}/Vivaldi/User Data/Default/Local Storage/leveldb/x
vivaldi.crash-reports
+ {local}/Vivaldi/User Data/Crashpad/reports/0a1b.dmp
+ {config}/vivaldi/Crash Reports/pending/0a1b.dmp
- {local}/Vivaldi/User Data/Crashpad/settings.dat
- {local}/Vivaldi/User Data/reports/0a1b.dmp
- {local}/Vivaldi/User Data/Default/Crashpad/reports/0a1b.dmp
opera.cache
+ {local}/Opera Software/Opera Stable/Cache/Cache_Data/f_000001
+ {local}/Opera Software/Opera Stable/Default/Cache/f_000001
+ {roaming}/Opera Software/Opera Stable/GPUCache/data_0
- {roaming}/Opera Software/Opera Stable/Cookies
- {roaming}/Opera Software/Opera Stable/Bookmarks
- {local}/Opera Software/Opera Stable/Other/Cache/f_000001
- {local}/Opera Software/Cache/f_000001
opera.service-workers
+ {roaming}/Opera Software/Opera Stable/Service Worker/CacheStorage/0a/x
+ {roaming}/Opera Software/Opera Stable/Default/Service Worker/ScriptCache/x
- {roaming}/Opera Software/Opera Stable/Service Worker/Database/x
- {roaming}/Opera Software/Opera Stable/Sessions/x
opera.crash-reports
+ {roaming}/Opera Software/Opera Stable/Crash Reports/reports/0a1b.dmp
- {roaming}/Opera Software/Opera Stable/Crash Reports/settings.dat
- {roaming}/Opera Software/Opera Stable/reports/0a1b.dmp
firefox.cache
+ {local}/Mozilla/Firefox/Profiles/0a1b.default/cache2/entries/x
+ {cache}/mozilla/firefox/0a1b.default/startupCache/x
+ {home}/.mozilla/firefox/0a1b.default/shader-cache/x
+ {roaming}/Mozilla/Firefox/Profiles/0a1b.default/startupCache/x
- {roaming}/Mozilla/Firefox/Profiles/0a1b.default/places.sqlite
- {roaming}/Mozilla/Firefox/Profiles/0a1b.default/storage/default/x
- {home}/.mozilla/firefox/0a1b.default/key4.db
- {home}/.mozilla/firefox/0a1b.default/sessionstore-backups/x
- {local}/Mozilla/Firefox/Profiles/0a1b.default/cache2-notes.txt
- {local}/Mozilla/Firefox/Profiles/cache2/x
- {local}/Mozilla/Firefox/Profiles/0a1b.default/sub/cache2/x
firefox.crash-reports
+ {roaming}/Mozilla/Firefox/Crash Reports/pending/0a1b.dmp
+ {home}/.mozilla/firefox/0a1b.default/minidumps/0a1b.dmp
- {roaming}/Mozilla/Firefox/Crash Reports/events/x
- {roaming}/Mozilla/Firefox/Crash Reports/InstallTime2024
- {home}/.mozilla/firefox/minidumps/x/0a1b.dmp
thunderbird.cache
+ {local}/Thunderbird/Profiles/0a1b.default/cache2/entries/x
+ {cache}/thunderbird/0a1b.default/startupCache/x
- {roaming}/Thunderbird/Profiles/0a1b.default/ImapMail/host/INBOX
- {roaming}/Thunderbird/Profiles/0a1b.default/Mail/Local Folders/Inbox
- {local}/Thunderbird/Profiles/0a1b.default/cache3/x
thunderbird.crash-reports
+ {roaming}/Thunderbird/Crash Reports/submitted/x.txt
- {roaming}/Thunderbird/Crash Reports/events/x
- {roaming}/Thunderbird/pending/x
librewolf.cache
+ {local}/LibreWolf/Profiles/0a1b.default/cache2/entries/x
+ {cache}/librewolf/0a1b.default/cache2/entries/x
- {home}/.librewolf/0a1b.default/logins.json
- {local}/LibreWolf/cache2/x
librewolf.crash-reports
+ {home}/.librewolf/Crash Reports/pending/0a1b.dmp
- {home}/.librewolf/Crash Reports/events/x
- {home}/librewolf/Crash Reports/pending/0a1b.dmp
ie.cache
+ {inetcache}/Content.IE5/0A1B/page.htm
+ {inetcache}/IE/0A1B/page.htm
- {inetcache}/desktop.ini
- {inetcache}/Content.Outlook/0A1B/letter.doc
- {inetcache}/OLK1A/letter.doc
ie.app-cache
+ {local}/Packages/Some.App_8wekyb3d8bbwe/AC/INetCache/0A1B/page.htm
- {local}/Packages/Some.App_8wekyb3d8bbwe/AC/INetCookies/a
- {local}/Packages/Some.App_8wekyb3d8bbwe/INetCache/a
outlook.attachments
+ {inetcache}/Content.Outlook/0A1B/letter.doc
+ {inetcache}/OLK1A/letter.doc
- {inetcache}/IE/0A1B/page.htm
- {inetcache}/sub/OLK1A/letter.doc
slack.cache
+ {roaming}/Slack/Cache/Cache_Data/f_000001
+ {config}/Slack/Code Cache/js/x
+ {data}/Slack/GPUCache/data_0
- {roaming}/Slack/Local Storage/leveldb/x
- {roaming}/Slack/Cookies
- {roaming}/Slack/User/Cache/x
- {config}/Slack/storage.json
slack.service-workers
+ {roaming}/Slack/Service Worker/CacheStorage/0a/x
- {roaming}/Slack/Service Worker/Database/x
- {roaming}/Slack/CacheStorage/x
discord.cache
+ {roaming}/discord/Cache/Cache_Data/f_000001
+ {config}/discord/Code Cache/js/x
+ {data}/discord/GPUCache/data_0
- {roaming}/discord/Local Storage/leveldb/x
- {roaming}/discord/Cookies
- {roaming}/discord/User/Cache/x
- {config}/discord/storage.json
discord.service-workers
+ {roaming}/discord/Service Worker/CacheStorage/0a/x
- {roaming}/discord/Service Worker/Database/x
- {roaming}/discord/CacheStorage/x
vscode.cache
+ {roaming}/Code/Cache/Cache_Data/f_000001
+ {config}/Code/Code Cache/js/x
+ {data}/Code/GPUCache/data_0
- {roaming}/Code/Local Storage/leveldb/x
- {roaming}/Code/Cookies
- {roaming}/Code/User/Cache/x
- {config}/Code/storage.json
vscode.service-workers
+ {roaming}/Code/Service Worker/CacheStorage/0a/x
- {roaming}/Code/Service Worker/Database/x
- {roaming}/Code/CacheStorage/x
vscode.compiled-scripts
+ {config}/Code/CachedData/0a1b/chrome/x
- {config}/Code/User/settings.json
- {config}/Code/Backups/x
- {config}/CachedData/x
vscode.extension-downloads
+ {config}/Code/CachedExtensionVSIXs/a.b-1.0.0
- {config}/Code/User/globalStorage/x
- {config}/Code/CachedExtensions/x
teams.cache
+ {roaming}/Microsoft/Teams/Cache/f_000001
+ {local}/Packages/MSTeams_8wekyb3d8bbwe/LocalCache/Microsoft/MSTeams/EBWebView/Default/Cache/Cache_Data/f_000001
- {roaming}/Microsoft/Teams/Backgrounds/Uploads/a.jpg
- {roaming}/Microsoft/Cache/x
- {local}/Packages/MSTeams_8wekyb3d8bbwe/LocalCache/Microsoft/MSTeams/EBWebView/Default/Cookies
";
