#!/bin/sh
# Installs, upgrades, removes and purges a package on a copy of this Debian, which is gone afterwards. Needs root.
#   unshare --mount --propagation private sh debian-package.sh FOLDER PACKAGE
set -eu
top=$1
package=$2
mount -t tmpfs -o mode=755 tmpfs "$top"
mkdir "$top/upper" "$top/work" "$top/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$top/upper,workdir=$top/work" "$top/root"
cp "$package" "$top/root/sealift.deb"
for folder in proc dev; do mount --rbind "/$folder" "$top/root/$folder"; done
mount -t tmpfs tmpfs "$top/root/run"
mount -t tmpfs -o mode=1777 tmpfs "$top/root/tmp"
inside() { chroot "$top/root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }

inside dpkg --install /sealift.deb >/dev/null
inside sealift --version
inside deploy-project --help | head -n 1
inside getent passwd sealift-watch | cut -d: -f1
inside stat -c '%U %n' /srv/sealift/plugins
inside systemd-analyze verify /lib/systemd/system/sealift-hub.service /lib/systemd/system/sealift-mirror.service 2>&1 | { grep -i sealift || echo "the units are well-formed"; }
echo "# mine" >>"$top/root/etc/sealift/hub/sealift.yaml"
inside dpkg --force-confdef --force-confold --install /sealift.deb >/dev/null
grep mine "$top/root/etc/sealift/hub/sealift.yaml"
wants="$top/root/etc/systemd/system/multi-user.target.wants"
mkdir -p "$wants" "$top/root/etc/sealift/watch"
ln -s ../sealift-app@.service "$wants/sealift-app@web.service"
echo "a key" >"$top/root/etc/sealift/watch/harbour.env"
inside dpkg --remove sealift | grep -o "Disabled sealift-app@web.service: its program is gone"
[ ! -L "$wants/sealift-app@web.service" ] && echo "no application starts without it"
[ ! -e "$top/root/usr/bin/sealift" ] && echo "removed"
[ -e "$top/root/etc/sealift/hub/sealift.yaml" ] && echo "its configuration is kept"
inside dpkg --purge sealift 2>/dev/null | grep -o "/etc/sealift/watch, with the keys of hosts; /etc/credstore/sealift-\*"
[ ! -e "$top/root/etc/sealift/hub" ] && [ -e "$top/root/etc/sealift/watch/harbour.env" ] && echo "purged"
[ -d "$top/root/srv/sealift/plugins" ] && echo "data is left"
